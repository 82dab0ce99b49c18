import type { Schemas } from '#/api/client';
import { type EmailDocument, readDocument } from './document.ts';
import { writeMjml } from './mjml.ts';

/** What a mail is written as: in the visual editor, as MJML, or as HTML. */
export type Content =
  | { mode: 'visual'; document: EmailDocument }
  | { mode: 'mjml'; mjml: string }
  | { mode: 'html'; body: string };

/** A mail that somebody writes. Templates and campaigns have one. */
export interface Draft {
  subject: string;
  content: Content;
}

/** What the API says of a template, a campaign or a version of one. */
export interface Stored {
  subject: string;
  body: string;
  mjml?: string | null;
  document?: Schemas['EditorDocument'] | null;
}

/**
 * The draft of what is stored. It opens visually only where it has a document of this editor; everything else opens as the
 * code that it is. The service drops the document when a program changes the MJML or the HTML, so the two say the same.
 */
export function draftOf(stored: Stored): Draft {
  const { subject, body, mjml } = stored;
  const document = readDocument(stored.document);
  if (mjml !== undefined && mjml !== null) {
    return { subject, content: document ? { mode: 'visual', document } : { mode: 'mjml', mjml } };
  }
  return { subject, content: { mode: 'html', body } };
}

/** What the mail is made from, for previews and checks. */
export function sourceOf(content: Content): { mjml: string } | { body: string } {
  if (content.mode === 'html') return { body: content.body };
  return { mjml: content.mode === 'mjml' ? content.mjml : writeMjml(content.document) };
}

/** The fields of a request that saves a draft: the source, and the document that it was written from. */
export function fieldsOf(draft: Draft): { subject: string; body?: string; mjml?: string; document?: Schemas['EditorDocument'] } {
  const { subject, content } = draft;
  if (content.mode !== 'visual') return { subject, ...sourceOf(content) };
  return { subject, ...sourceOf(content), document: { ...content.document } };
}

/** The fields of a request that copies what is stored: its MJML with the document of its editor, or its HTML. */
export function copyOf({ body, mjml, document }: Pick<Stored, 'body' | 'mjml' | 'document'>): Omit<ReturnType<typeof fieldsOf>, 'subject'> {
  if (!mjml) return { body };
  return { mjml, ...(document ? { document } : {}) };
}

/** The fields of a request that saves what changed. What did not change is left alone: it may be another editor's. */
export function changesOf(before: Draft, draft: Draft): Partial<ReturnType<typeof fieldsOf>> {
  if (isSame(before.content, draft.content)) return before.subject === draft.subject ? {} : { subject: draft.subject };
  const { subject, ...content } = fieldsOf(draft);
  return before.subject === subject ? content : { subject, ...content };
}

/** Whether two drafts say the same. */
export function isSameDraft(a: Draft, b: Draft): boolean {
  return a === b || (a.subject === b.subject && isSame(a.content, b.content));
}

function isSame(a: Content, b: Content): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}
