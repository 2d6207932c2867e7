from tests.iad_envs.toolcalls.worlds.world_calls import Desk

WORLD = "Mail"
INBOX = {"folder": "inbox", "to": "me@example.org"}
CONFIG = {
    "next_number": 70,
    "contacts": [{"name": "Kai Lund", "address": "kai.lund@example.org"}],
    "mails": [
        {**INBOX, "mail_id": "ML-1", "sender": "eva@example.org", "subject": "Kiln", "body": "Hot.", "is_unread": True},
        {**INBOX, "mail_id": "ML-2", "sender": "kai.lund@example.org", "subject": "Loom", "body": "Slow."},
    ],
}


def test_contacts_and_mails_are_found_and_one_that_was_opened_is_read(desk: Desk) -> None:
    assert desk.reads("find_contact", name="kai lund") == {"name": "Kai Lund", "address": "kai.lund@example.org"}
    assert "Eva" in desk.refused("find_contact", name="Eva")
    assert [mail["mail_id"] for mail in desk.reads("list_inbox")["mails"]] == ["ML-1", "ML-2"]
    assert [mail["mail_id"] for mail in desk.reads("list_inbox", unread_only=True)["mails"]] == ["ML-1"]
    assert "True or False" in desk.refused("list_inbox", unread_only=1)
    (mail,) = desk.reads("search_mail", words="kiln")["mails"]
    assert mail == {"mail_id": "ML-1", "sender": "eva@example.org", "subject": "Kiln", "is_unread": True}
    assert [one["mail_id"] for one in desk.reads("search_mail", words="kai.lund")["mails"]] == ["ML-2"]
    assert "No mail" in desk.refused("search_mail", words="Hot.")
    assert desk.call("open_mail", mail_id="ML-1")["body"] == "Hot."
    assert desk.reads("list_inbox", unread_only=True) == {"mails": []}
    assert "ML-9" in desk.refused("open_mail", mail_id="ML-9")


def test_a_draft_with_an_address_is_written_and_sent(desk: Desk) -> None:
    for to in ("Kai Lund", "kai@host", "@b.org", "a b@c.org"):
        assert "mail address" in desk.refused("draft_mail", to=to, subject="", body="")
    assert desk.call("draft_mail", to="a@b.org", subject="Hello", body="Soon.") == {"mail_id": "ML-70"}
    assert desk.state.mails[-1].folder == "drafts"
    assert desk.call("send_draft", mail_id="ML-70") == {"mail_id": "ML-70", "status": "sent"}
    assert desk.state.mails[-1].folder == "sent"
    assert "not a draft" in desk.refused("send_draft", mail_id="ML-70")
    assert len(desk.reads("list_inbox")["mails"]) == 2


def test_a_mail_is_answered_and_labelled(desk: Desk) -> None:
    assert desk.call("reply_mail", mail_id="ML-2", body="Yes.") == {"mail_id": "ML-70", "to": "kai.lund@example.org"}
    sent = desk.state.mails[-1]
    assert (sent.folder, sent.subject, sent.body) == ("sent", "Re: Loom", "Yes.")
    assert "not in the inbox" in desk.refused("reply_mail", mail_id="ML-70", body="No.")
    assert desk.call("label_mail", mail_id="ML-2", label="later") == {"mail_id": "ML-2", "label": "later"}
    assert desk.state.mails[1].label == "later"
    assert "a word" in desk.refused("label_mail", mail_id="ML-2", label=" ")
    assert "ML-9" in desk.refused("label_mail", mail_id="ML-9", label="later")
