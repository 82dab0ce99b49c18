import { BaseEdge, EdgeLabelRenderer, type EdgeProps } from '@xyflow/react';
import { Plus } from 'lucide';
import { memo, useSyncExternalStore } from 'react';
import { classes } from '#/ui/classes';
import { Icon } from '#/ui/icon';
import { middleOf, roundedPath } from '../model/layout';
import { routeBetween } from './drag';
import { DIM, RADIUS, useActions, type WayBetween } from './canvas';
import { t } from './texts';

/** A way between two steps: its branch, how many took it, and a button that puts a step between. */
export const WayEdge = memo(function WayEdge({ source, target, sourceX, sourceY, targetX, targetY, data }: EdgeProps<WayBetween>) {
  const { addAt, drag } = useActions();
  const pulled = useSyncExternalStore(drag.subscribe, () => drag.pullOn(source, target));
  const route = routeBetween({ x: sourceX, y: sourceY }, { x: targetX, y: targetY }, pulled, data?.lane);
  const lane = route.length > 4 ? data?.lane : undefined;
  const middle = middleOf(route, data?.along ?? 'end', lane);
  if (!data) return null;
  const { way, name, count, canInsert, isDim } = data;
  const text = [name, count].filter(Boolean).join(' · ');
  return (
    <>
      <BaseEdge path={roundedPath(route, RADIUS)} style={{ opacity: isDim ? DIM : 1 }} interactionWidth={0} data-from={source} data-to={target} />
      <EdgeLabelRenderer>
        <div
          data-from={source}
          data-to={target}
          className="nodrag nopan pointer-events-auto absolute flex items-center gap-1"
          style={{ transform: `translate(-50%, -50%) translate(${middle.x}px, ${middle.y}px)` }}
        >
          {text && (
            <span className={classes('rounded-full border border-line bg-panel px-1.5 text-meta whitespace-nowrap tabular', isDim && 'text-muted')}>
              {text}
            </span>
          )}
          {canInsert && (
            <button
              type="button"
              tabIndex={-1}
              aria-label={t.insertBefore(data.target)}
              title={t.insertBefore(data.target)}
              onClick={() => addAt([{ kind: 'way', way }])}
              className="flex size-6 items-center justify-center rounded-full border border-line bg-panel text-muted hover:border-accent hover:text-accent"
            >
              <Icon of={Plus} size={13} />
            </button>
          )}
        </div>
      </EdgeLabelRenderer>
    </>
  );
});
