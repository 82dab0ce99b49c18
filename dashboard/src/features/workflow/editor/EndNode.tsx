import type { NodeProps } from '@xyflow/react';
import { Plus } from 'lucide';
import { memo } from 'react';
import { Icon } from '#/ui/icon';
import { END_SIZE } from '../model/layout';
import { type EndOnCanvas, useActions, useIsFar } from './canvas';
import { t } from './texts';
import { WayPoint } from './WayPoint';

/** Where a way on is missing: a step can be added here. */
export const EndNode = memo(function EndNode({ data }: NodeProps<EndOnCanvas>) {
  const { step, port, name } = data;
  const { addAt } = useActions();
  const isFar = useIsFar();
  return (
    <>
      <WayPoint of="target" />
      <div className="flex justify-center" style={END_SIZE}>
        <button
          type="button"
          tabIndex={-1}
          aria-label={name ? t.addAfterBranch(step.name, name) : t.addAfter(step.name)}
          onClick={() => addAt([{ kind: 'end', step, port }])}
          className="pointer-events-auto inline-flex h-7 max-w-full items-center gap-1 rounded-full border border-dashed border-control bg-canvas px-2 text-meta text-muted hover:border-accent hover:text-accent"
        >
          {!isFar && <Icon of={Plus} size={13} className="shrink-0" />}
          {!isFar && name && <span className="truncate">{name}</span>}
        </button>
      </div>
    </>
  );
});
