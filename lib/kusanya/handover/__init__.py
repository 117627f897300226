"""The hand-over of a shift: what happened since an instant, what is open, who did what.

`load` reads the store, `lines` writes it for people; both know no full phone number.
"""

from kusanya.handover.acts import ActRun
from kusanya.handover.page import Handover, HandoverLine, as_json, lines, load

__all__ = ["ActRun", "Handover", "HandoverLine", "as_json", "lines", "load"]
