"""Import of conversations: exports of Sophon, ChatGPT and Claude."""
