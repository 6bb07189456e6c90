"""Files of messages: upload, list, download, delete."""
