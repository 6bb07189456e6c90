"""Rules of guard InformationFlow: labels of data, where it may go, and what a call reads and sends."""
