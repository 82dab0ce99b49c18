import { encode } from 'uqr';

/** Cells of light around the code, which scanners need. */
const MARGIN = 2;

/** A text as a QR code. It is dark on light in both themes, because scanners expect that. */
export function QrCode({ text, label }: { text: string; label: string }) {
  const { data, size } = encode(text, { border: 0 });
  const path = data
    .flatMap((row, y) => row.map((dark, x) => (dark ? `M${x + MARGIN} ${y + MARGIN}h1v1h-1z` : '')))
    .join('');
  const all = size + 2 * MARGIN;
  return (
    <svg role="img" aria-label={label} viewBox={`0 0 ${all} ${all}`} className="size-44 rounded-control bg-white" shapeRendering="crispEdges">
      <path d={path} fill="#000" />
    </svg>
  );
}
