//! Chinese as written in mainland China.

use super::Texts;

pub(super) const TEXTS: Texts = Texts {
    footer_reason: "您收到此邮件，是因为您同意接收来自 {project} 的邮件。",
    update_preferences: "更新偏好设置",
    preferences: "邮件偏好设置",
    unsubscribe: "退订",
    subscribe: "订阅",
    subscribe_again: "重新订阅",
    unsubscribe_question: "要退订这些邮件吗？",
    unsubscribe_explanation: "{email} 将不再收到来自 {project} 的营销邮件。",
    unsubscribed: "您已退订",
    not_subscribed: "{email} 未订阅来自 {project} 的营销邮件。",
    changed_mind: "改变主意了？",
    subscribe_question: "要订阅这些邮件吗？",
    subscribe_explanation: "{email} 将会收到来自 {project} 的营销邮件。",
    subscribed: "您已订阅",
    is_subscribed: "{email} 已订阅来自 {project} 的营销邮件。",
    invalid_link: "此链接无效",
    invalid_link_text: "链接可能不完整或已过期。请从邮件中重新打开。",
    failed: "出错了",
    failed_text: "请过几分钟再试。",
};
