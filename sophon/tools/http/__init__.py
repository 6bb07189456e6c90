"""HTTP client for URLs from a model: SSRF guard, URL and address checks, header and body limits."""
