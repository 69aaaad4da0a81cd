"""Programs that run where the files of a release were installed; release/trial.py starts them."""
