"""Write tags.md: figure 2 of the paper on our inputs, tags of some test images.

python reproductions/coplsa_2016/tags.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from harness.paper import load_experiment, read_paper  # noqa: E402

SEED, TAGS = 0, 10

HEAD = """# Tags of test images

Figure 2 of the paper shows four images with tags drawn from their topics. The images are not part of the public corpus,
so each row names the category and the first words of the text that stands beside the image; the tags know the image's
histogram of 128 visual words only. Bold: words of that text. The rows are the first test image of each category.
Written by `reproductions/coplsa_2016/tags.py` (sKL coPLSA, 100 topics, weight 1, seed {seed}); `table.md` has the share
of tags that stand in the text, over all test images.

| category | text beside the image | strongest topics | likeliest tags | drawn tags |
|---|---|---|---|---|
"""


def main() -> None:
    """Fit, tag, and write the page."""
    paper = read_paper(HERE)
    experiment, options = load_experiment(str(HERE)), paper.raw["data"]["words"]
    corpus = experiment.load("words", options)
    retriever = experiment.tagger("sKL coPLSA", corpus, options, SEED)
    names = corpus.train.feature_names["text"]
    lines = []
    for k, category in enumerate(corpus.target_names):
        row = int(np.flatnonzero(corpus.test_target == k)[0])
        image = corpus.test[[row]].select("image")
        beside = set(names[corpus.test["text"][[row]].indices].tolist())
        mixture = retriever.models_[0].transform(image)[0]
        best = np.argsort(-mixture)[:2]
        topics = retriever.models_[0].top_features("text", 3)
        cells = [
            str(category),
            " ".join(corpus.texts[row].replace("|", " ").split()[:10]) + " ...",
            "; ".join(f"{', '.join(word for word, _ in topics[t])} ({mixture[t]:.2f})" for t in best),
            *(
                _marked(retriever.tags(image, TAGS, how=how, random_state=SEED)[0], beside)
                for how in ("ranked", "drawn")
            ),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    (HERE / "tags.md").write_text(HEAD.format(seed=SEED) + "\n".join(lines) + "\n", encoding="utf-8")


def _marked(tags: list[tuple[str, float]], beside: set[str]) -> str:
    return ", ".join(f"**{tag}**" if tag in beside else tag for tag, _ in tags)


if __name__ == "__main__":
    main()
