"""Text processing for messages: length, cut points, splitting, markdown to styled text."""
