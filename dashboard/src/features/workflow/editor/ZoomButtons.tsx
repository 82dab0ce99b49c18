import { type FitViewOptions, Panel, useReactFlow } from '@xyflow/react';
import { Maximize, ZoomIn, ZoomOut } from 'lucide';
import { IconButton } from '#/ui/button';
import { Icon } from '#/ui/icon';
import { t } from './texts';

/** Makes the graph larger, smaller, or fit. */
export function ZoomButtons({ fit, label }: { fit: FitViewOptions; label: string }) {
  const flow = useReactFlow();
  return (
    <Panel position="bottom-left">
      <div role="group" aria-label={label} className="flex rounded-control border border-line bg-panel">
        <IconButton size="small" label={t.zoomIn} onClick={() => void flow.zoomIn()}>
          <Icon of={ZoomIn} size={14} />
        </IconButton>
        <IconButton size="small" label={t.zoomOut} onClick={() => void flow.zoomOut()}>
          <Icon of={ZoomOut} size={14} />
        </IconButton>
        <IconButton size="small" label={t.fit} onClick={() => void flow.fitView(fit)}>
          <Icon of={Maximize} size={14} />
        </IconButton>
      </div>
    </Panel>
  );
}
