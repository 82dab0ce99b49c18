//! Chinese as written in Taiwan.

use super::Texts;

pub(super) const TEXTS: Texts = Texts {
    footer_reason: "您會收到這封郵件，是因為您同意接收來自 {project} 的郵件。",
    update_preferences: "更新偏好設定",
    preferences: "電子郵件偏好設定",
    unsubscribe: "取消訂閱",
    subscribe: "訂閱",
    subscribe_again: "重新訂閱",
    unsubscribe_question: "要取消訂閱這些郵件嗎？",
    unsubscribe_explanation: "{email} 將不再收到來自 {project} 的行銷郵件。",
    unsubscribed: "您已取消訂閱",
    not_subscribed: "{email} 未訂閱來自 {project} 的行銷郵件。",
    changed_mind: "改變主意了嗎？",
    subscribe_question: "要訂閱這些郵件嗎？",
    subscribe_explanation: "{email} 將會收到來自 {project} 的行銷郵件。",
    subscribed: "您已完成訂閱",
    is_subscribed: "{email} 已訂閱來自 {project} 的行銷郵件。",
    invalid_link: "這個連結無效",
    invalid_link_text: "連結可能不完整或已過期。請從郵件中重新開啟。",
    failed: "發生錯誤",
    failed_text: "請過幾分鐘再試一次。",
};
