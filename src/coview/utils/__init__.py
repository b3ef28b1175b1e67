"""What every room needs and none owns: whole files, archives, sentences, values as JSON."""
