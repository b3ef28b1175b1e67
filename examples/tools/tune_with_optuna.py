"""
Tune a model with Optuna
========================

Every estimator of coview is one of scikit-learn, so searches of other libraries take it as it is. This script needs
``pip install coview[table] optuna optuna-integration``; ``python examples/tools/tune_with_optuna.py``.
"""

# %%
# Two views of synthetic objects, and the pipeline to tune.
import optuna
from optuna.distributions import FloatDistribution, IntDistribution
from optuna_integration import OptunaSearchCV
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from coview import PLSA
from coview.datasets import make_topic_views

optuna.logging.set_verbosity(optuna.logging.WARNING)
data = make_topic_views(
    200,
    {"words": 60, "links": 40},
    n_clusters=4,
    overlap=0.6,
    length=20,
    random_state=0,
)
pipeline = make_pipeline(
    PLSA(max_iter=20, random_state=0), LogisticRegression(max_iter=1000)
)

# %%
# ``OptunaSearchCV`` takes ``Views`` for X and names parameters as ``GridSearchCV`` does.
search = OptunaSearchCV(
    pipeline,
    {
        "plsa__n_components": IntDistribution(2, 20),
        "logisticregression__C": FloatDistribution(0.01, 100, log=True),
    },
    cv=3,
    n_trials=10,
    random_state=0,
)
search.fit(data.views, data.target)
print({name: round(value, 3) for name, value in search.best_params_.items()})
print(f"accuracy {search.best_score_:.3f} in cross-validation")
