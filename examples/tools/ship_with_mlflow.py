"""
Ship a model with MLflow
========================

A file of ``coview.save`` becomes a model of MLflow by a class of a few lines: nothing is pickled but the class. This
script needs ``pip install coview[table] mlflow``; ``python examples/tools/ship_with_mlflow.py``.
"""

# %%
# A pipeline that takes the rows of a table and gives clusters.
import tempfile
from pathlib import Path

import mlflow
import pandas as pd
from sklearn.pipeline import make_pipeline

import coview

tickets = pd.read_csv(Path(__file__).parents[1] / "tickets.csv")
model = make_pipeline(
    coview.TableViews(text="text", columns="product"),
    coview.AutoClustering(8, random_state=0),
).fit(tickets)


# %%
# The wrapper: it loads the file and predicts.
class SavedModel(mlflow.pyfunc.PythonModel):
    def load_context(self, context):
        self.model = coview.load(context.artifacts["model"])

    def predict(self, context, model_input, params=None):
        return self.model.predict(model_input)


# %%
# Logged, loaded and used as every other model of MLflow; a service of MLflow takes the same rows as JSON.
with tempfile.TemporaryDirectory() as folder:
    coview.save(model, f"{folder}/tickets.coview")
    mlflow.pyfunc.save_model(
        f"{folder}/mlflow",
        python_model=SavedModel(),
        artifacts={"model": f"{folder}/tickets.coview"},
    )
    served = mlflow.pyfunc.load_model(f"{folder}/mlflow")
    found = served.predict(tickets.head(5))
print(found.tolist(), "as the model itself:", model.predict(tickets.head(5)).tolist())
