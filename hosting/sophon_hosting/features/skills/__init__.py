"""Skills: list, show, check, install and switch them."""
