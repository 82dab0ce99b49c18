import { BaseEdge, type EdgeProps } from '@xyflow/react';
import { memo } from 'react';
import { roundedPath, routeOf } from '../model/layout';
import { RADIUS, type WayToEnd } from './canvas';

const DASHED = { strokeDasharray: '4 4' };

/** A way to an open end. */
export const EndEdge = memo(function EndEdge({ source, target, sourceX, sourceY, targetX, targetY }: EdgeProps<WayToEnd>) {
  const route = routeOf({ x: sourceX, y: sourceY }, { x: targetX, y: targetY }, undefined);
  return <BaseEdge path={roundedPath(route, RADIUS)} style={DASHED} interactionWidth={0} data-from={source} data-to={target} />;
});
