"""A page to try models on: an editor, the dependency graph, and answers that come as they are found.

Input: a browser on the same machine. Output: what `reading` says of a text, and what `answering` finds, both
in processes of their own (`worker`) that `workers` starts and kills; `server` is all that the browser meets.
"""
