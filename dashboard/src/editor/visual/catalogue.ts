import type { JSONContent } from '@tiptap/core';
import {
  CaseSensitive,
  Code,
  Columns2,
  Columns3,
  Heading1,
  Heading2,
  Heading3,
  type IconNode,
  Image as ImageIcon,
  List,
  ListOrdered,
  Minus,
  MousePointerClick,
  MoveVertical,
  PanelBottom,
  Repeat,
  Rows2,
  Split,
} from 'lucide';
import { footerOf } from '../starters.ts';
import { t } from './texts';

/** A block that can be put in, by the slash menu and by the button. */
export interface Entry {
  id: string;
  name: string;
  icon: IconNode;
  /** More words that find it. */
  also: string;
  content: () => JSONContent;
}

const paragraph: JSONContent = { type: 'paragraph' };
const list = (type: string): JSONContent => ({ type, content: [{ type: 'listItem', content: [paragraph] }] });
const columns = (count: number): JSONContent => ({
  type: 'section',
  content: Array.from({ length: count }, () => ({ type: 'column', content: [paragraph] })),
});

/** Every block, in the order of the menu. */
export const ENTRIES: readonly Entry[] = [
  { id: 'paragraph', name: t.names.paragraph, icon: CaseSensitive, also: 'paragraph absatz', content: () => paragraph },
  ...([1, 2, 3] as const).map((level) => ({
    id: `heading${level}`,
    name: t.heading(level),
    icon: [Heading1, Heading2, Heading3][level - 1] ?? Heading1,
    also: `h${level} title titel`,
    content: () => ({ type: 'heading', attrs: { level } }),
  })),
  {
    id: 'button',
    name: t.names.button,
    icon: MousePointerClick,
    also: 'link cta',
    content: () => ({ type: 'button', content: [{ type: 'text', text: t.buttonLabel }] }),
  },
  { id: 'image', name: t.names.image, icon: ImageIcon, also: 'picture photo logo foto', content: () => ({ type: 'image' }) },
  { id: 'bulletList', name: t.names.bulletList, icon: List, also: 'bullet ul', content: () => list('bulletList') },
  { id: 'orderedList', name: t.names.orderedList, icon: ListOrdered, also: 'number ol', content: () => list('orderedList') },
  { id: 'divider', name: t.names.divider, icon: Minus, also: 'line hr linie', content: () => ({ type: 'divider' }) },
  { id: 'spacer', name: t.names.spacer, icon: MoveVertical, also: 'space gap', content: () => ({ type: 'spacer' }) },
  { id: 'section', name: t.names.section, icon: Rows2, also: 'row', content: () => columns(1) },
  { id: 'columns2', name: t.columns(2), icon: Columns2, also: '2', content: () => columns(2) },
  { id: 'columns3', name: t.columns(3), icon: Columns3, also: '3', content: () => columns(3) },
  {
    id: 'condition',
    name: t.names.condition,
    icon: Split,
    also: 'if else wenn',
    content: () => ({ type: 'condition', content: [{ type: 'branch', attrs: { kind: 'if' }, content: [paragraph] }] }),
  },
  { id: 'loop', name: t.names.loop, icon: Repeat, also: 'for each repeat', content: () => ({ type: 'loop', content: [paragraph] }) },
  { id: 'raw', name: t.names.raw, icon: Code, also: 'code embed', content: () => ({ type: 'raw' }) },
  {
    id: 'footer',
    name: t.names.footer,
    icon: PanelBottom,
    also: 'unsubscribe abmelden',
    content: () => footerOf({ why: t.footerWhy, unsubscribe: t.footerUnsubscribe }) as JSONContent,
  },
];

/** The entries that a text finds. */
export function entriesFor(query: string): readonly Entry[] {
  const wanted = query.trim().toLowerCase();
  return ENTRIES.filter((entry) => `${entry.name} ${entry.also} ${entry.id}`.toLowerCase().includes(wanted));
}
