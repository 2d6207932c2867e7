"""Turns with the mailbox."""

from typing import Any

from story import Said, Story, only, turn


def inbox_mail(story: Story) -> Any:
    """Draw a mail that came, and that no turn was about."""
    return story.new(one for one in story.state("Mail").mails if one.folder == "inbox")


def found_mail(story: Story) -> tuple[Any, str]:
    """Draw a mail that came and find it by its subject."""
    mail = inbox_mail(story)
    return mail, only(story.call("search_mail", words=mail.subject)["mails"])["mail_id"]


@turn("looked_up", "Mail")
def send(story: Story) -> Said:
    """Write to a contact and send it."""
    contact = story.new(story.state("Mail").contacts)
    subject, body = story.word("subjects"), story.word("bodies")
    to = story.call("find_contact", name=contact.name)["address"]
    draft = story.call("draft_mail", to=to, subject=subject, body=body)["mail_id"]
    story.call("send_draft", mail_id=draft)
    return {"name": contact.name, "subject": subject, "body": body}


@turn("looked_up", "Mail")
def draft_by_name(story: Story) -> Said:
    """Write a draft to a contact."""
    contact = story.new(story.state("Mail").contacts)
    subject, body = story.word("subjects"), story.word("bodies")
    to = story.call("find_contact", name=contact.name)["address"]
    story.note(draft=story.call("draft_mail", to=to, subject=subject, body=body)["mail_id"])
    return {"name": contact.name, "subject": subject, "body": body}


@turn("plain", "Mail")
def draft(story: Story) -> Said:
    """Write a draft to an address."""
    contact = story.new(story.state("Mail").contacts)
    subject, body = story.word("subjects"), story.word("bodies")
    story.note(draft=story.call("draft_mail", to=contact.address, subject=subject, body=body)["mail_id"])
    return {"address": contact.address, "subject": subject, "body": body}


@turn("follows", "Mail")
def send_that(story: Story) -> Said:
    """Send the draft of the turn before."""
    story.call("send_draft", mail_id=story.recall("draft"))
    return {}


@turn("plain", "Mail")
def unread(story: Story) -> Said:
    """Ask for what is unread."""
    story.call("list_inbox", unread_only=True)
    return {}


@turn("plain", "Mail")
def inbox(story: Story) -> Said:
    """Ask for the whole inbox."""
    story.call("list_inbox")
    return {}


@turn("plain", "Mail")
def look_for(story: Story) -> Said:
    """Search the inbox."""
    mail = inbox_mail(story)
    story.note(mail=only(story.call("search_mail", words=mail.subject)["mails"])["mail_id"])
    return {"subject": mail.subject}


@turn("follows", "Mail")
def open_that(story: Story) -> Said:
    """Open the mail the turn before found."""
    mail = story.recall("mail")
    story.call("open_mail", mail_id=mail)
    story.note(mail=mail)
    return {}


@turn("follows", "Mail")
def reply_to_that(story: Story) -> Said:
    """Answer the mail the turn before was about."""
    body = story.word("replies")
    story.call("reply_mail", mail_id=story.recall("mail"), body=body)
    return {"body": body}


@turn("follows", "Mail")
def label_that(story: Story) -> Said:
    """Label the mail the turn before was about."""
    mail, label = story.recall("mail"), story.word("labels")
    story.call("label_mail", mail_id=mail, label=label)
    story.note(mail=mail)
    return {"label": label}


@turn("plain", "Mail")
def open_one(story: Story) -> Said:
    """Open a mail."""
    mail = inbox_mail(story)
    story.call("open_mail", mail_id=mail.mail_id)
    story.note(mail=mail.mail_id)
    return {"mail": mail.mail_id}


@turn("looked_up", "Mail")
def open_found(story: Story) -> Said:
    """Find a mail and open it."""
    mail, mail_id = found_mail(story)
    story.call("open_mail", mail_id=mail_id)
    story.note(mail=mail_id)
    return {"subject": mail.subject}


@turn("looked_up", "Mail")
def open_unread(story: Story) -> Said:
    """Open the unread mail of a sender."""
    mail = story.new(one for one in story.state("Mail").mails if one.is_unread)
    mails = story.call("list_inbox", unread_only=True)["mails"]
    mail_id = only(one for one in mails if one["sender"] == mail.sender)["mail_id"]
    story.call("open_mail", mail_id=mail_id)
    story.note(mail=mail_id)
    return {"sender": mail.sender}


@turn("plain", "Mail")
def reply(story: Story) -> Said:
    """Answer a mail."""
    mail, body = inbox_mail(story), story.word("replies")
    story.call("reply_mail", mail_id=mail.mail_id, body=body)
    return {"mail": mail.mail_id, "body": body}


@turn("looked_up", "Mail")
def reply_found(story: Story) -> Said:
    """Find a mail and answer it."""
    mail, mail_id = found_mail(story)
    body = story.word("replies")
    story.call("reply_mail", mail_id=mail_id, body=body)
    return {"subject": mail.subject, "body": body}


@turn("plain", "Mail")
def label(story: Story) -> Said:
    """Label a mail."""
    mail, name = inbox_mail(story), story.word("labels")
    story.call("label_mail", mail_id=mail.mail_id, label=name)
    story.note(mail=mail.mail_id)
    return {"mail": mail.mail_id, "label": name}


@turn("looked_up", "Mail")
def label_found(story: Story) -> Said:
    """Find a mail and label it."""
    mail, mail_id = found_mail(story)
    name = story.word("labels")
    story.call("label_mail", mail_id=mail_id, label=name)
    story.note(mail=mail_id)
    return {"subject": mail.subject, "label": name}


@turn("plain", "Mail")
def ask_address(story: Story) -> Said:
    """Ask for a contact's address."""
    contact = story.new(story.state("Mail").contacts)
    story.note(contact=story.call("find_contact", name=contact.name)["address"])
    return {"name": contact.name}


@turn("follows", "Mail")
def draft_to_that(story: Story) -> Said:
    """Write a draft to the address the turn before told."""
    to, subject, body = story.recall("contact"), story.word("subjects"), story.word("bodies")
    story.note(draft=story.call("draft_mail", to=to, subject=subject, body=body)["mail_id"])
    return {"subject": subject, "body": body}
