"""Treatment of every field of a Telegram message and update: read, described, answered or ignored (Bot API 10.3).

A message without any content that is known here comes from a newer Bot API; it is answered as `UNKNOWN_KIND`.
"""

from sophon_channels.json_fields import JsonObject
from sophon_channels.message_kind_treatments import UNKNOWN_KIND, build_kinds

MESSAGE_KINDS = build_kinds(
    ("read", "the text of the message", "text caption"),
    ("read", "the text of the message, without its formatting", "rich_message"),
    ("read", "a file of the message", "animation audio document live_photo photo video video_note voice"),
    ("read", "its emoji, for dice with the value", "sticker dice"),
    ("described", "coordinates, name and address; a live location is read once", "location venue"),
    ("described", "name and phone number", "contact"),
    ("described", "question and options", "poll"),
    ("described", "title, and tasks with their state", "checklist"),
    ("described", "title, description and amount", "game invoice"),
    ("described", "a quotation", "reply_to_message quote external_reply"),
    (
        "described",
        "the text is marked as forwarded, or as written by that bot",
        "forward_origin forward_date forward_from forward_from_chat forward_from_message_id forward_sender_name "
        "forward_signature via_bot",
    ),
    ("answered", "stories", "story"),
    ("answered", "paid media", "paid_media"),
    ("answered", "gifts", "gift unique_gift gift_upgrade_sent"),
    ("answered", "giveaways", "giveaway giveaway_winners"),
    ("answered", "passport data", "passport_data"),
    ("ignored", "written on behalf of a chat: there is no person whose rights could be checked", "sender_chat"),
    ("ignored", "the chat's new id is recorded", "migrate_to_chat_id migrate_from_chat_id"),
    (
        "ignored",
        "service message",
        "new_chat_members left_chat_member chat_owner_left chat_owner_changed new_chat_title new_chat_photo "
        "delete_chat_photo group_chat_created supergroup_chat_created channel_chat_created "
        "message_auto_delete_timer_changed pinned_message successful_payment refunded_payment users_shared chat_shared "
        "user_shared connected_website write_access_allowed proximity_alert_triggered boost_added chat_background_set "
        "checklist_tasks_done checklist_tasks_added direct_message_price_changed forum_topic_created "
        "forum_topic_edited forum_topic_closed forum_topic_reopened general_forum_topic_hidden "
        "general_forum_topic_unhidden giveaway_created giveaway_completed managed_bot_created "
        "paid_message_price_changed poll_option_added poll_option_deleted suggested_post_approved "
        "suggested_post_approval_failed suggested_post_declined suggested_post_paid suggested_post_refunded "
        "video_chat_scheduled video_chat_started video_chat_ended video_chat_participants_invited web_app_data "
        "community_chat_added community_chat_removed community_chat_joined",
    ),
    (
        "detail",
        "ids, sender, chat, flags",
        "message_id date chat from message_thread_id direct_messages_topic sender_boost_count sender_business_bot "
        "sender_tag guest_query_id business_connection_id is_topic_message is_automatic_forward reply_to_story "
        "reply_to_checklist_task_id reply_to_poll_option_id guest_bot_caller_user guest_bot_caller_chat edit_date "
        "has_protected_content is_from_offline is_paid_post media_group_id author_signature paid_star_count entities "
        "link_preview_options suggested_post_info effect_id caption_entities show_caption_above_media "
        "has_media_spoiler reply_markup receiver_user ephemeral_message_id",
    ),
)
"""Treatment of every field of a message."""

UPDATE_KINDS = build_kinds(
    ("read", "a message, or a press of a button", "message callback_query"),
    ("read", "feedback on an answer, by its emoji; in a group the bot must be an administrator", "message_reaction"),
    ("read", "an edit of its text: replaces it while it waits, else a turn of its own", "edited_message"),
    ("ignored", "a change of what was ignored before", "edited_channel_post edited_business_message"),
    ("ignored", "Telegram does not state who deleted it", "deleted_business_messages"),
    ("ignored", "a post in a channel has no person whose rights could be checked", "channel_post"),
    (
        "ignored",
        "written to somebody else: the owner of a business account, or a chat that the bot is no member of",
        "business_connection business_message guest_message",
    ),
    (
        "ignored",
        "not requested from Telegram",
        "message_reaction_count inline_query chosen_inline_result shipping_query pre_checkout_query "
        "purchased_paid_media poll poll_answer my_chat_member chat_member chat_join_request chat_boost "
        "removed_chat_boost managed_bot subscription stopped_message_generation",
    ),
    ("detail", "the number of the update", "update_id"),
)
"""Treatment of every field of an update."""


def find_unreadable_kind(message: JsonObject) -> str:
    """Return the label of content that cannot be read, "" if there is none or it is no message to the bot. Pure.

    A message without known content has content that this Bot API does not describe, unless it is a service message.
    """
    kinds = [MESSAGE_KINDS.get(name) for name in message]
    for kind in kinds:
        if kind is not None and kind.treatment == "answered":
            return kind.label
    if any(kind is not None and kind.treatment == "ignored" for kind in kinds):
        return ""
    is_readable = any(
        kind is not None and kind.treatment in ("read", "described") and name not in _NO_CONTENT_ALONE
        for name, kind in zip(message, kinds, strict=True)
    )
    return "" if is_readable else UNKNOWN_KIND


_NO_CONTENT_ALONE = frozenset({"caption"}) | {
    name
    for name, kind in MESSAGE_KINDS.items()
    if kind.label in (MESSAGE_KINDS["quote"].label, MESSAGE_KINDS["forward_origin"].label)
}
"""Fields that belong to other content, or refer to another message."""
