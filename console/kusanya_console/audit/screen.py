"""The Audit screen: who did what, when, and to which collection."""

from kusanya.say import Said
from kusanya.wire import Mode
from kusanya_console.actions.context import AppContext
from kusanya_console.actions.messages import CopyRequested, TimelineRequested, copy_reference
from kusanya_console.audit.filtering import Act
from kusanya_console.audit.list import act_name, audit_list, outcome, subject_name
from kusanya_console.commands import bindings_of
from kusanya_console.lists.list_screen import ListScreen
from kusanya_console.ui.format import (
    Line,
    Look,
    cell,
    format_moment,
    format_text,
    labelled,
    rule,
    wrapped,
)
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import MUTED, PLAIN, STRONG, mode_words
from kusanya_console.widgets.sheet import Sheet


class AuditScreen(ListScreen[Act]):
    """What people did to the store, newest first."""

    NAME = "audit"
    CRUMB = "Audit"
    BINDINGS = bindings_of(NAME)

    def __init__(self, context: AppContext) -> None:
        super().__init__(context, audit_list(context.mode))

    def on_mount(self) -> None:
        """Say what the list is of, then read it."""
        head = "what people did on this store, in both modes"
        self.query_one("#figures", Sheet).show(lambda _width: [((f" {translate(head)}", MUTED),)])
        super().on_mount()

    def on_record_table_highlighted(self) -> None:
        """Show the act that the cursor reached."""
        self._show_card()

    def changed(self, ids: frozenset[str]) -> None:  # noqa: ARG002 - an act never changes
        """Show the act under the cursor once the list has been read."""
        self._show_card()

    def restyle(self) -> None:
        """Draw list and card in the new time format."""
        super().restyle()
        self._show_card()

    def _show_card(self) -> None:
        act, look, mode = self.table.row, self.context.look, self.context.mode
        keys = f"{self.context.key('list.open')}  {translate('full story')}"
        card = self.query_one("#card", Sheet)
        if act is None:
            card.show(lambda _width: [((translate("j and k move to a record"), MUTED),)])
        else:
            card.show(lambda width: act_lines(act, look, width, mode=mode, keys=keys))

    def action_open(self) -> None:
        """Open the story of what the act was done to."""
        act = self.table.row
        if act is None or act.subject is None:
            self.say("this act was done to no payment: there is no story of it")
        elif act.subject.mode is not self.context.mode:
            word, _ = mode_words(act.subject.mode)
            self.say(
                Said("it is a payment of {mode}; the palette goes to the other mode").of(mode=word)
            )
        else:
            self.post_message(TimelineRequested(act.subject.id))

    def action_copy_id(self) -> None:
        """Copy the reference of the payment, or what else the act was done to; of all marked."""
        act = self.table.row
        if self.copy_marked() or act is None:
            return
        if act.subject is not None:
            self.post_message(copy_reference(act.subject.reference, act.subject.id))
        elif act.row.subject is not None:
            self.post_message(CopyRequested("subject", format_text(act.row.subject)))


def act_lines(act: Act, look: Look, width: int, *, mode: Mode, keys: str) -> list[Line]:
    """Return everything that is kept of one act."""
    row = act.row
    lines: list[Line] = [
        ((act_name(row), STRONG),),
        (),
        labelled("who", cell(row.actor, limit=60)),
        labelled("when", (format_moment(row.at, look), PLAIN)),
        labelled("to", (subject_name(act, mode), PLAIN)),
    ]
    if row.subject is not None and act.subject is not None:
        lines.append(labelled("", cell(row.subject, MUTED, limit=130)))
    said, role = outcome(act)
    lines += wrapped(said, width, label="outcome", role=role)
    if row.detail:
        lines += [(), rule("why", width), *wrapped(format_text(row.detail, 600), width)]
    if act.subject is not None:
        lines += [(), ((keys, MUTED),)]
    return lines
