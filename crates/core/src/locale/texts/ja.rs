//! Japanese.

use super::Texts;

pub(super) const TEXTS: Texts = Texts {
    footer_reason: "このメールは、{project} からのメールの受信に同意された方にお送りしています。",
    update_preferences: "配信設定を変更する",
    preferences: "メールの配信設定",
    unsubscribe: "配信を停止する",
    subscribe: "登録する",
    subscribe_again: "配信を再開する",
    unsubscribe_question: "メールの配信を停止しますか？",
    unsubscribe_explanation: "今後、{email} 宛てに {project} からのマーケティングメールは届かなくなります。",
    unsubscribed: "配信を停止しました",
    not_subscribed: "{email} は {project} のマーケティングメールに登録されていません。",
    changed_mind: "お間違えの場合は、配信を再開できます。",
    subscribe_question: "メールの配信に登録しますか？",
    subscribe_explanation: "{email} 宛てに {project} からのマーケティングメールが届くようになります。",
    subscribed: "登録が完了しました",
    is_subscribed: "{email} は {project} のマーケティングメールに登録されています。",
    invalid_link: "このリンクは無効です",
    invalid_link_text: "リンクが途中で切れているか、古くなっている可能性があります。メールからもう一度開いてください。",
    failed: "エラーが発生しました",
    failed_text: "数分後にもう一度お試しください。",
};
