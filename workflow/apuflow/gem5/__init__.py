"""What is known of gem5 itself, whoever runs it or reads what it wrote."""
