// Digests: waited for and fetched.
import { type Job, JobState } from "./gen/omr/v1/detection_pb.js";
import { given, patiently, type Service } from "./service.js";
import type { Bytes, Progress } from "./types.js";

/** A job that will give no digest. */
export class JobEnded extends Error {
  override name = "JobEnded";
  readonly kind: "failed" | "cancelled";
  constructor(kind: "failed" | "cancelled", why: string) {
    super(`expected a digest, found that its job ${kind === "failed" ? `failed: ${why}` : "was cancelled"}`);
    this.kind = kind;
  }
}

export async function watch(service: Service, jobId: Uint8Array, tell: (progress: Progress) => void): Promise<void> {
  for await (const { job } of service.detection.watchJob({ jobId })) {
    const { state, stage, stageDone, stageTotal, jobsAhead, error } = given<Job>("a job", job);
    if (state === JobState.DONE) return;
    if (state === JobState.FAILED) throw new JobEnded("failed", error);
    if (state === JobState.CANCELLED) throw new JobEnded("cancelled", "");
    if (state === JobState.QUEUED) tell({ stage: "waiting", what: "queue", done: 0, total: Number(jobsAhead) });
    else tell({ stage: "working", what: stage, done: Number(stageDone), total: Number(stageTotal) });
  }
  throw new Error("expected the job's end, found the stream's");
}

/** A job's digest; what broke off goes on where it ended. */
export async function fetchDigest(service: Service, jobId: Uint8Array): Promise<Bytes> {
  const pieces: Bytes[] = [];
  let [at, total] = [0, 0];
  await patiently(async () => {
    const rest = service.detection.fetchDigest({ jobId, offset: BigInt(at) });
    for await (const { offset, data, totalBytes } of rest) {
      if (Number(offset) !== at) throw new Error(`expected the digest from byte ${at} on, found ${offset}`);
      pieces.push(new Uint8Array(data));
      at += data.length;
      total = Number(totalBytes);
    }
  }, service.signal);
  if (at !== total) throw new Error(`expected a digest of ${total} bytes, found ${at}`);
  return new Uint8Array(await new Blob(pieces).arrayBuffer());
}
