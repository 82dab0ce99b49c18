import type { Editor } from '@tiptap/core';
import type { ComponentType } from 'react';
import { Checkbox, TextField } from '#/ui/form';
import type { Theme } from '../../document.ts';
import { VariableInput } from '../../variables/VariableInput';
import type { Placed } from '../blocks';
import { t } from '../texts';
import { BranchSettings } from './BranchSettings';
import { AlignField, ChoiceField, ColorField, NumberField, RoomFields } from './controls';
import { ImageSettings } from './ImageSettings';
import { SectionSettings } from './SectionSettings';

/** What the settings of a node are given. */
export interface SettingsProps {
  editor: Editor;
  placed: Placed;
  attrs: Record<string, unknown>;
  set: (attrs: Record<string, unknown>) => void;
  theme: Theme;
}

function TextSettings({ attrs, set, theme }: SettingsProps) {
  return (
    <>
      <AlignField value={String(attrs.align)} onChange={(align) => set({ align })} />
      <ColorField label={t.color} value={String(attrs.color)} fallback={theme.color} onChange={(color) => set({ color })} />
      {'size' in attrs && (
        <NumberField label={t.size} value={Number(attrs.size)} min={10} max={72} onChange={(size) => set({ size })} />
      )}
      <RoomFields attrs={attrs} onChange={set} />
    </>
  );
}

function HeadingSettings(props: SettingsProps) {
  const levels = [1, 2, 3].map((level) => [String(level), t.heading(level)] as const);
  return (
    <>
      <ChoiceField label={t.level} value={String(props.attrs.level)} choices={levels} onChange={(level) => props.set({ level: Number(level) })} />
      <TextSettings {...props} />
    </>
  );
}

function ButtonSettings({ attrs, set, theme }: SettingsProps) {
  return (
    <>
      <VariableInput label={t.href} value={String(attrs.href)} onChange={(href) => set({ href })} placeholder="https://" />
      <AlignField value={String(attrs.align)} onChange={(align) => set({ align })} />
      <Checkbox label={t.wide} checked={attrs.wide === true} onChange={(event) => set({ wide: event.target.checked })} />
      <ColorField label={t.background} value={String(attrs.background)} fallback={theme.accent} onChange={(background) => set({ background })} />
      <ColorField label={t.color} value={String(attrs.color)} onChange={(color) => set({ color })} />
      <NumberField label={t.radius} value={Number(attrs.radius)} max={100} onChange={(radius) => set({ radius })} />
      <RoomFields attrs={attrs} onChange={set} />
    </>
  );
}

function DividerSettings({ attrs, set }: SettingsProps) {
  return (
    <>
      <ColorField label={t.color} value={String(attrs.color)} onChange={(color) => set({ color })} />
      <NumberField label={t.thickness} value={Number(attrs.thickness)} min={1} max={20} onChange={(thickness) => set({ thickness })} />
      <RoomFields attrs={attrs} onChange={set} />
    </>
  );
}

function SpacerSettings({ attrs, set }: SettingsProps) {
  return <NumberField label={t.height} value={Number(attrs.height)} max={200} onChange={(height) => set({ height })} />;
}

function ListSettings({ attrs, set }: SettingsProps) {
  if (!('start' in attrs)) return null;
  return <NumberField label={t.start} value={Number(attrs.start)} max={9999} onChange={(start) => set({ start })} />;
}

function FooterSettings(props: SettingsProps) {
  return (
    <>
      <p className="text-meta text-muted">{t.footerHint}</p>
      <TextSettings {...props} />
    </>
  );
}

function RawSettings() {
  return <p className="text-meta text-muted">{t.rawHint}</p>;
}

function LoopSettings({ attrs, set }: SettingsProps) {
  return (
    <>
      <TextField label={t.list} hint={t.listHint} value={String(attrs.list)} spellCheck={false} onChange={(event) => set({ list: event.target.value })} />
      <TextField label={t.item} value={String(attrs.item)} spellCheck={false} onChange={(event) => set({ item: event.target.value })} />
    </>
  );
}

function ColumnSettings({ attrs, set, theme }: SettingsProps) {
  const choices = [['top', t.top], ['middle', t.middle], ['bottom', t.bottom]] as const;
  return (
    <>
      <NumberField label={t.columnWidth} hint={t.columnWidthHint} value={Number(attrs.width)} max={100} onChange={(width) => set({ width })} />
      <ColorField label={t.background} value={String(attrs.background)} fallback={theme.surface} onChange={(background) => set({ background })} />
      <ChoiceField label={t.vertical} value={String(attrs.vertical)} choices={choices} onChange={(vertical) => set({ vertical })} />
    </>
  );
}

/** The settings of each node that has some. */
export const SETTINGS: Record<string, ComponentType<SettingsProps>> = {
  section: SectionSettings,
  column: ColumnSettings,
  paragraph: TextSettings,
  heading: HeadingSettings,
  bulletList: ListSettings,
  orderedList: ListSettings,
  button: ButtonSettings,
  image: ImageSettings,
  divider: DividerSettings,
  spacer: SpacerSettings,
  raw: RawSettings,
  footer: FooterSettings,
  branch: BranchSettings,
  loop: LoopSettings,
};
