"""A mailbox: contacts, mails that came, drafts, and mails that were sent."""

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from iad_envs.toolcalls.worlds.functions import FunctionWorld, Refused, Result, function, known, replaced


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

    owner: str
    next_number: int
    contacts: tuple[MailContact, ...]
    mails: tuple[StoredMail, ...]


class MailWorld(FunctionWorld[MailState]):
    """Eight functions of a mailbox."""

    name = "Mail"
    about = "Belongs to the user's mailbox."

    def load(self, config: Mapping[str, Any], *, long_context: bool = False) -> MailState:
        """Return the state at the start."""
        mails = tuple(StoredMail(**one) for one in config.get("mails", ()))
        return MailState(
            owner=config.get("owner", "me@example.org"),
            next_number=config.get("next_number", 1),
            contacts=tuple(MailContact(**one) for one in config.get("contacts", ())),
            mails=mails + more_mails() if long_context else mails,
        )

    def public(self, state: MailState) -> Mapping[str, Any]:
        """Return what a checker compares."""
        return state._asdict()

    @function(
        "Finds the mail address of a contact.",
        name="First and last name of the contact.",
        returns={"name": ("string", "Name of the contact."), "address": ("string", "Mail address.")},
    )
    def find_contact(self, state: MailState, name: str) -> tuple[MailState, Result]:
        """Find a contact by name."""
        contact = next((one for one in state.contacts if one.name.lower() == name.strip().lower()), None)
        if contact is None:
            raise Refused(f"No contact is called {name!r}.")
        return state, contact._asdict()

    @function(
        "Lists the mails in the inbox.",
        unread_only="Whether only unread mails are listed.",
        returns={"mails": ("array", "The mails, each with mail_id, sender, subject and is_unread.")},
    )
    def list_inbox(self, state: MailState, unread_only: bool = False) -> tuple[MailState, Result]:
        """List what came."""
        mails = [_line(one) for one in state.mails if one.folder == "inbox" and (one.is_unread or not unread_only)]
        return state, {"mails": mails}

    @function(
        "Searches the mails in the inbox.",
        words="Words in the subject or the sender's address; case does not matter.",
        returns={"mails": ("array", "The mails that were found, each with mail_id, sender, subject and is_unread.")},
    )
    def search_mail(self, state: MailState, words: str) -> tuple[MailState, Result]:
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

    @function(
        "Opens a mail, which counts as read after that.",
        mail_id="Id of the mail, such as 'ML-88'.",
        returns={
            "mail_id": ("string", "Id of the mail."),
            "sender": ("string", "Address it came from."),
            "subject": ("string", "Its subject."),
            "body": ("string", "Its text."),
        },
    )
    def open_mail(self, state: MailState, mail_id: str) -> tuple[MailState, Result]:
        """Open a mail."""
        mail = known(state.mails, mail_id, "mail")
        after = state._replace(mails=replaced(state.mails, mail._replace(is_unread=False)))
        return after, {key: getattr(mail, key) for key in ("mail_id", "sender", "subject", "body")}

    @function(
        "Writes a draft, without sending it.",
        to="Mail address of who it is for.",
        subject="Its subject.",
        body="Its text.",
        returns={"mail_id": ("string", "Id of the draft.")},
    )
    def draft_mail(self, state: MailState, to: str, subject: str, body: str) -> tuple[MailState, Result]:
        """Write a draft."""
        _must_be_address(to)
        return _written(state, StoredMail("", "drafts", state.owner, to, subject, body))

    @function(
        "Sends a draft.",
        mail_id="Id of the draft.",
        returns={"mail_id": ("string", "Id of the mail."), "status": ("string", "'sent'.")},
        lasting=True,
    )
    def send_draft(self, state: MailState, mail_id: str) -> tuple[MailState, Result]:
        """Send a draft."""
        mail = known(state.mails, mail_id, "mail")
        if mail.folder != "drafts":
            raise Refused(f"{mail_id} is not a draft.")
        after = state._replace(mails=replaced(state.mails, mail._replace(folder="sent")))
        return after, {"mail_id": mail_id, "status": "sent"}

    @function(
        "Answers a mail of the inbox; the answer is sent at once.",
        mail_id="Id of the mail that is answered.",
        body="Text of the answer.",
        returns={"mail_id": ("string", "Id of the answer."), "to": ("string", "Address it was sent to.")},
        lasting=True,
    )
    def reply_mail(self, state: MailState, mail_id: str, body: str) -> tuple[MailState, Result]:
        """Answer a mail."""
        mail = known(state.mails, mail_id, "mail")
        if mail.folder != "inbox":
            raise Refused(f"{mail_id} is not in the inbox.")
        answer = StoredMail("", "sent", state.owner, mail.sender, f"Re: {mail.subject}", body)
        after, result = _written(state, answer)
        return after, result | {"to": mail.sender}

    @function(
        "Puts a label on a mail, in place of the one it has.",
        mail_id="Id of the mail.",
        label="The label, a word.",
        returns={"mail_id": ("string", "Id of the mail."), "label": ("string", "Its label.")},
    )
    def label_mail(self, state: MailState, mail_id: str, label: str) -> tuple[MailState, Result]:
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


def _written(state: MailState, mail: StoredMail) -> tuple[MailState, Result]:
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
