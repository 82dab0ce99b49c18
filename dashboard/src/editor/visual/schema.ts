import { getSchema, type JSONContent } from '@tiptap/core';
import StarterKit from '@tiptap/starter-kit';
import type { EmailDocument } from '../document.ts';
import { ListItem } from './list-item';
import { Color, Link } from './marks';
import {
  Branch,
  Button,
  Column,
  Condition,
  Divider,
  Doc,
  Footer,
  Heading,
  Image,
  Loop,
  Paragraph,
  Raw,
  Section,
  Spacer,
  Variable,
} from './nodes';

/** What documents are made of. */
export const CONTENT = [
  StarterKit.configure({
    document: false,
    paragraph: false,
    heading: false,
    blockquote: false,
    code: false,
    codeBlock: false,
    horizontalRule: false,
    link: false,
    listItem: false,
    listKeymap: false,
    trailingNode: false,
    dropcursor: { class: 'mw-drop', color: false, width: 2 },
  }),
  Doc,
  Paragraph,
  Section,
  Column,
  Heading,
  Button,
  Image,
  Divider,
  Spacer,
  Raw,
  Footer,
  Condition,
  Branch,
  Loop,
  ListItem,
  Variable,
  Link,
  Color,
];

/** The sections of a document as the editor takes them. */
export function contentOf(document: EmailDocument): JSONContent {
  return { type: 'doc', content: document.sections as JSONContent[] };
}

/** Whether the editor can hold a document without losing anything of it. */
export function fits(document: EmailDocument): boolean {
  try {
    getSchema(CONTENT).nodeFromJSON(contentOf(document)).check();
    return true;
  } catch {
    return false;
  }
}
