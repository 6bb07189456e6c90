"""Import of conversations from the export file of another product."""
