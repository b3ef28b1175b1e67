"""What every reproduction shares: the paper's file, the runs and where they are kept, the table and the figures."""
