"""Online learning from several views: passive-aggressive classifiers, streams, progressive validation."""
