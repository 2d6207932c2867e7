"""A mailbox: contacts, mails that came, drafts, and mails that were sent."""

from functools import cache
from typing import Any, NamedTuple

from iad_envs.toolcalls.worlds.functions import After, FunctionWorld, Refused, known, named, replaced


class MailContact(NamedTuple):
    """A person and the address of their mailbox."""

    name: str
    address: str


class StoredMail(NamedTuple):
    """A mail in `inbox`, `drafts` or `sent`."""

    mail_id: str
    folder: str
    sender: str
    to: str
    subject: str
    body: str
    is_unread: bool = False
    label: str = ""


class MailState(NamedTuple):
    """What is in a mailbox. New mails are numbered."""

    owner: str = "me@example.org"
    next_number: int = 1
    contacts: tuple[MailContact, ...] = ()
    mails: tuple[StoredMail, ...] = ()


class MailWorld(FunctionWorld[MailState]):
    """Eight functions of a mailbox."""

    name = "Mail"
    state = MailState
    lasting = frozenset(("send_draft", "reply_mail"))

    def find_contact(self, state: MailState, name: str) -> After[MailState]:
        """Find a contact by name."""
        return state, named(state.contacts, name, f"No contact is called {name!r}.")._asdict()

    def list_inbox(self, state: MailState, unread_only: bool = False) -> After[MailState]:
        """List what came."""
        mails = [_line(one) for one in state.mails if one.folder == "inbox" and (one.is_unread or not unread_only)]
        return state, {"mails": mails}

    def search_mail(self, state: MailState, words: str) -> After[MailState]:
        """Search what came."""
        sought = words.strip().lower()
        mails = [
            _line(one)
            for one in state.mails
            if one.folder == "inbox" and sought and (sought in one.subject.lower() or sought in one.sender.lower())
        ]
        if not mails:
            raise Refused(f"No mail in the inbox has {words!r} in its subject or sender.")
        return state, {"mails": mails}

    def open_mail(self, state: MailState, mail_id: str) -> After[MailState]:
        """Open a mail."""
        mail = known(state.mails, mail_id, "mail")
        after = state._replace(mails=replaced(state.mails, mail._replace(is_unread=False)))
        return after, {key: getattr(mail, key) for key in ("mail_id", "sender", "subject", "body")}

    def draft_mail(self, state: MailState, to: str, subject: str, body: str) -> After[MailState]:
        """Write a draft."""
        _must_be_address(to)
        return _written(state, StoredMail("", "drafts", state.owner, to, subject, body))

    def send_draft(self, state: MailState, mail_id: str) -> After[MailState]:
        """Send a draft."""
        mail = known(state.mails, mail_id, "mail")
        if mail.folder != "drafts":
            raise Refused(f"{mail_id} is not a draft.")
        after = state._replace(mails=replaced(state.mails, mail._replace(folder="sent")))
        return after, {"mail_id": mail_id, "status": "sent"}

    def reply_mail(self, state: MailState, mail_id: str, body: str) -> After[MailState]:
        """Answer a mail."""
        mail = known(state.mails, mail_id, "mail")
        if mail.folder != "inbox":
            raise Refused(f"{mail_id} is not in the inbox.")
        answer = StoredMail("", "sent", state.owner, mail.sender, f"Re: {mail.subject}", body)
        after, result = _written(state, answer)
        return after, result | {"to": mail.sender}

    def label_mail(self, state: MailState, mail_id: str, label: str) -> After[MailState]:
        """Label a mail."""
        mail = known(state.mails, mail_id, "mail")
        if not label.strip():
            raise Refused("label must be a word, got an empty text.")
        after = state._replace(mails=replaced(state.mails, mail._replace(label=label)))
        return after, {"mail_id": mail_id, "label": label}


def _line(mail: StoredMail) -> dict[str, Any]:
    return {key: getattr(mail, key) for key in ("mail_id", "sender", "subject", "is_unread")}


def _must_be_address(text: str) -> None:
    name, _, host = text.partition("@")
    if not name or "." not in host or " " in text:
        raise Refused(f"to must be a mail address, got {text!r}.")


def _written(state: MailState, mail: StoredMail) -> After[MailState]:
    new = mail._replace(mail_id=f"ML-{state.next_number}")
    return state._replace(next_number=state.next_number + 1, mails=(*state.mails, new)), {"mail_id": new.mail_id}


@cache
def more_mails() -> tuple[StoredMail, ...]:
    """Return the mails of a long context."""
    return tuple(
        StoredMail(
            f"ML-{9000 + number}",
            "inbox",
            f"robot{number % 12}@lists.example.org",
            "me@example.org",
            f"Digest {number}",
            "Nothing new was posted today. " * 8,
        )
        for number in range(240)
    )


MailWorld.more = {"mails": more_mails}
