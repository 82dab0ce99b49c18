import { useState } from 'react';
import { Button } from '#/ui/button';
import { Banner } from '#/ui/status';
import type { EmailDocument } from '../document.ts';
import { t } from '../texts';
import { fits } from './schema';
import VisualEditor from './VisualEditor';

/** Opens the visual editor where it can hold the whole document, and offers the code where it cannot. */
export default function VisualDoor({ document, onChange, onCode }: {
  document: EmailDocument;
  onChange: (document: EmailDocument) => void;
  onCode: () => void;
}) {
  // what comes later was made by the editor itself
  const [isFit] = useState(() => fits(document));
  if (isFit) return <VisualEditor document={document} onChange={onChange} />;
  return (
    <Banner tone="warn" action={<Button onClick={onCode}>{t.toCode}</Button>}>
      {t.unfit}
    </Banner>
  );
}
