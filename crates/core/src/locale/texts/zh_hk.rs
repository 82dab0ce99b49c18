//! Chinese as written in Hong Kong.

use super::Texts;

pub(super) const TEXTS: Texts = Texts {
    footer_reason: "您收到此電郵，是因為您同意接收來自 {project} 的電郵。",
    update_preferences: "更新偏好設定",
    preferences: "電郵偏好設定",
    unsubscribe: "取消訂閱",
    subscribe: "訂閱",
    subscribe_again: "重新訂閱",
    unsubscribe_question: "要取消訂閱這些電郵嗎？",
    unsubscribe_explanation: "{email} 將不再收到來自 {project} 的推廣電郵。",
    unsubscribed: "您已取消訂閱",
    not_subscribed: "{email} 未有訂閱來自 {project} 的推廣電郵。",
    changed_mind: "改變主意了嗎？",
    subscribe_question: "要訂閱這些電郵嗎？",
    subscribe_explanation: "{email} 將會收到來自 {project} 的推廣電郵。",
    subscribed: "您已成功訂閱",
    is_subscribed: "{email} 已訂閱來自 {project} 的推廣電郵。",
    invalid_link: "此連結無效",
    invalid_link_text: "連結可能不完整或已過期。請從電郵中重新開啟。",
    failed: "發生錯誤",
    failed_text: "請過幾分鐘再試。",
};
