"""Files, requests and inputs made to do harm: what they must never do is crash, hang, run code or answer nonsense."""
