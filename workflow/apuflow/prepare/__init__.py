"""What runs need and is made once: sources, images, gem5, DNNMark; each with a record."""
