"""What who sees masked views is shown of a payment: what follows from facts that are hidden."""

from kusanya.domain.status import CONTRADICTION
from kusanya.state.observation import CollectionState, Contradiction, Source
from kusanya.store.records import CollectionRow


def state_of(row: CollectionRow) -> CollectionState:
    """Return the state that a row of the projection shows; it has no observations.

    That facts contradict each other is told as often as they do, and not which ones.
    """
    source = Source(row.learned_from) if row.learned_from else None
    fields = {
        name: getattr(row, name)
        for name in CollectionState.__struct_fields__
        if name in CollectionRow.__struct_fields__ and name != "learned_from"
    }
    differs = Contradiction(
        field="status" if row.status == CONTRADICTION else "hidden",
        values=("hidden from this login",),
        sources=(source or Source.POLL,),
    )
    return CollectionState(
        **{
            **fields,
            "statuses": () if row.status == CONTRADICTION else (row.status,),
            "learned_from": source,
            "event_ids": () if row.event_id is None else (row.event_id,),
            "observations": 0,
            "contradictions": (differs,) * row.contradictions,
        }
    )
