"""Raw data to views, and views to better views: text, tables, images, weighting, links."""
