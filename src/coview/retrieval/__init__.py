"""Search one view of objects with another: canonical correlations, semantic matching, indexes, and the retriever."""
