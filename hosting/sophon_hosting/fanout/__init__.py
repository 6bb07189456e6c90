"""Fan-out: best-effort messages between the host processes of one deployment, which tell each other where to look."""
