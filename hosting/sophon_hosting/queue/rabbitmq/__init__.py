"""Task queue on RabbitMQ: quorum queues keep the entries, one of the host processes at a time schedules them."""
