"""One file per kind of question; the table that puts them in order is sophon/models/offline/table.py."""
