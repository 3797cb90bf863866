"""What a sweep will do, before it runs."""
