/** Whether deliveries are not reported, as by some mail servers: that nothing was delivered would be wrong. */
export function isUnreported(delivered: number, sent: number): boolean {
  return delivered === 0 && sent > 0;
}
