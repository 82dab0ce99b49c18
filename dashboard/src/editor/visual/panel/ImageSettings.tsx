import { Suspense, useState } from 'react';
import { lazyPart } from '#/router/lazy';
import { Button } from '#/ui/button';
import { TextArea } from '#/ui/form';
import { VariableInput } from '../../variables/VariableInput';
import { t } from '../texts';
import { AlignField, NumberField, RoomFields } from './controls';
import type { SettingsProps } from './settings';

const ImagePicker = lazyPart(() => import('../../images/ImagePicker'), 'floats');

/** How wide a picture can be shown: what a mail has, in pixels. */
const MAX_WIDTH = 1200;

/** The settings of a picture. */
export function ImageSettings({ attrs, set, theme }: SettingsProps) {
  const [choosing, setChoosing] = useState(false);
  const src = String(attrs.src);
  return (
    <>
      <Button className="w-full" variant={src ? 'default' : 'primary'} onClick={() => setChoosing(true)}>
        {src ? t.changePicture : t.choosePicture}
      </Button>
      <TextArea
        label={t.alt}
        hint={t.altHint}
        rows={2}
        maxLength={500}
        value={String(attrs.alt)}
        onChange={(event) => set({ alt: event.target.value })}
      />
      <VariableInput label={t.src} value={src} onChange={(value) => set({ src: value })} placeholder="https://" />
      <VariableInput label={t.href} value={String(attrs.href)} onChange={(href) => set({ href })} placeholder="https://" />
      <div className="grid grid-cols-2 gap-2">
        <NumberField label={t.width} hint={t.widthHint} value={Number(attrs.width)} max={MAX_WIDTH} onChange={(width) => set({ width })} />
        <NumberField label={t.radius} value={Number(attrs.radius)} max={100} onChange={(radius) => set({ radius })} />
      </div>
      <AlignField value={String(attrs.align)} onChange={(align) => set({ align })} />
      <RoomFields attrs={attrs} onChange={set} />
      {choosing && (
        <Suspense>
          <ImagePicker
            src={src}
            alt={String(attrs.alt)}
            onClose={() => setChoosing(false)}
            onPick={(picture) => {
              // a picture that is smaller than the column is not blown up
              const width = picture.width > 0 && picture.width < theme.width - 48 ? picture.width : 0;
              set({ src: picture.src, alt: picture.alt, ...(picture.src === src ? {} : { width }) });
              setChoosing(false);
            }}
          />
        </Suspense>
      )}
    </>
  );
}
