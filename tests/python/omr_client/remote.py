"""Calls of a server: proto/omr/v1 and docs/service.md."""

import os
import struct
import time

import grpc
from blake3 import blake3
from omr.v1 import board_pb2, board_pb2_grpc, detection_pb2, detection_pb2_grpc
from omr.v1 import key_pb2, key_pb2_grpc, service_pb2, service_pb2_grpc

from . import sealing
from .clues import SEED_BYTES, BoundSender
from .parts import split

PATIENCE_S = 60
# Larger than any digest's chunk or post.
MESSAGE_BYTES = 16 << 20


class Server:
    """A connection to a server at `http://HOST:PORT`."""

    def __init__(self, url, token=None):
        options = [("grpc.max_receive_message_length", MESSAGE_BYTES)]
        self.channel = grpc.insecure_channel(url.removeprefix("http://"), options=options)
        self.metadata = [("authorization", f"Bearer {token}")] if token else []
        self.boards = board_pb2_grpc.BoardServiceStub(self.channel)
        self.detection = detection_pb2_grpc.DetectionServiceStub(self.channel)
        self.keys = key_pb2_grpc.KeyServiceStub(self.channel)
        service = service_pb2_grpc.CapabilityServiceStub(self.channel)
        asked = service_pb2.GetCapabilitiesRequest()
        self.capabilities = service.GetCapabilities(asked, metadata=self.metadata, timeout=PATIENCE_S)
        self.board = self.capabilities.board

    def post(self, messages):
        """Posts clues and payloads; gives the indices of those that were not on the board before."""
        most = self.capabilities.limits.post_messages
        listed = [board_pb2.Message(clue=clue, payload=payload) for clue, payload in messages]
        return [index for at in range(0, len(listed), most) for index in self._post(listed[at : at + most])]

    def _post(self, listed):
        """One post; where messages are on the board already, because somebody copied them, posts the others."""
        while listed:
            post_id = os.urandom(16)
            bits = 0 if self.metadata else self.capabilities.posting_work_bits
            work = posting_work(self.board.board_id, post_id, listed, bits)
            request = board_pb2.PostMessagesRequest(post_id=post_id, messages=listed, work=work)
            try:
                posted = patiently(
                    lambda: self.boards.PostMessages(request, metadata=self.metadata, timeout=PATIENCE_S)
                )
                return range(posted.first_index, posted.first_index + posted.count)
            except grpc.RpcError as error:
                told = dict(error.trailing_metadata() or ()).get("post-refusal-bin")
                if error.code() != grpc.StatusCode.ALREADY_EXISTS or told is None:
                    raise
            refusal = board_pb2.PostRefusal.FromString(told)
            used = {key.position for key in refusal.used_keys}
            if not used and not refusal.known_id:
                raise ValueError("the server refused a post without a reason")
            listed = [message for position, message in enumerate(listed) if position not in used]
        return []

    def register(self, key):
        """Uploads the file of a detection key and registers it; gives its hash."""
        key_hash, most = blake3(key).digest(), self.capabilities.limits.chunk_bytes
        begin = key_pb2.BeginUploadRequest(key_hash=key_hash, total_bytes=len(key))
        begun = self.keys.BeginUpload(begin, metadata=self.metadata, timeout=PATIENCE_S)
        pieces = ((at, key[at : at + most]) for at in range(begun.next_offset, len(key), most))
        chunks = (
            key_pb2.UploadChunksRequest(key_hash=key_hash, offset=at, data=data, crc32c=crc32c(data))
            for at, data in pieces
        )
        if not begun.complete:
            sent = self.keys.UploadChunks(chunks, metadata=self.metadata, timeout=PATIENCE_S)
            assert sent.complete
        wanted = key_pb2.RegisterKeyRequest(key_hash=key_hash)
        self.keys.RegisterKey(wanted, metadata=self.metadata, timeout=PATIENCE_S)
        return key_hash

    def scan(self, key_hash, start, end):
        """The scan of a range."""
        return self.digest([key_hash], start, end, 0, detection_pb2.SCHEME_TWO_ROUNDS)

    def seeds(self, start, end):
        """The seeds of the pages of a range."""
        asked = detection_pb2.GetSeedsRequest(start=start, end=end)
        return list(self.detection.GetSeeds(asked, metadata=self.metadata, timeout=PATIENCE_S).seeds)

    def fetch(self, key_hash, start, end, query):
        """The answer to a query for messages of a range."""
        return self.digest([key_hash], start, end, 0, detection_pb2.SCHEME_TWO_ROUNDS, query)

    def digest(self, key_hashes, start, end, bound, scheme=detection_pb2.SCHEME_UNSPECIFIED, query=b""):
        """The digest of a range, for keys that are registered."""
        request = detection_pb2.CreateJobRequest(
            request_id=os.urandom(16),
            key_hashes=key_hashes,
            start=start,
            end=end,
            bound=bound,
            scheme=scheme,
            query=query,
        )
        create = lambda: self.detection.CreateJob(request, metadata=self.metadata, timeout=PATIENCE_S)
        job = patiently(create).job
        watch = detection_pb2.WatchJobRequest(job_id=job.job_id)
        for answer in self.detection.WatchJob(watch, metadata=self.metadata, timeout=PATIENCE_S):
            job = answer.job
        if job.state != detection_pb2.JOB_STATE_DONE:
            raise RuntimeError(f"no digest: {detection_pb2.JobState.Name(job.state)}, {job.error}")
        fetch = detection_pb2.FetchDigestRequest(job_id=job.job_id, offset=0)
        digest = b""
        for chunk in self.detection.FetchDigest(fetch, metadata=self.metadata, timeout=PATIENCE_S):
            assert chunk.offset == len(digest) and chunk.total_bytes == job.digest_bytes
            digest += chunk.data
        assert len(digest) == job.digest_bytes
        return digest


def crc32c(data):
    """CRC-32C."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC_TABLE[crc & 0xFF ^ byte]
    return crc ^ 0xFFFFFFFF


def _crc_entry(byte):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    return byte


CRC_TABLE = [_crc_entry(byte) for byte in range(256)]


def patiently(call):
    """Repeats what a server refuses for now."""
    for wait in (0.1, 0.5, 2):
        try:
            return call()
        except grpc.RpcError as error:
            if error.code() not in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED):
                raise
            told = dict(error.trailing_metadata() or ()).get("retry-after-ms")
            time.sleep(int(told) / 1000 if told else wait)
    return call()


def posting_work(board_id, post_id, messages, bits):
    """The least work of a post that begins with so many zero bits: docs/service.md."""
    content = blake3(b"".join(message.clue + message.payload for message in messages)).digest()
    bound = blake3(derive_key_context="omr posting work v1").update(board_id + post_id + content)
    work = 0
    while bits:
        digest = bound.copy().update(struct.pack("<Q", work)).digest()
        if int.from_bytes(digest, "big") >> (256 - bits) == 0:
            break
        work += 1
    return work


def write_letter(board, key, content):
    """Clues and payloads of a file to an address of bound clues, one for each of its parts."""
    if board.params_id != key.set.name or not key.bound or board.clues != board_pb2.CLUE_KIND_BOUND:
        raise ValueError("the address is for another board")
    # Never weaker than this, whatever a server says.
    if board.sealing != "hpke-x25519":
        raise ValueError(f"this client seals by hpke-x25519 alone, the board asks for {board.sealing}")
    capacity = board.payload_bytes - sealing.OVERHEAD[board.sealing] - SEED_BYTES
    sender = BoundSender(key.set, key.seed, key.beta, board.board_id)
    aad = sealing.additional_data(board.board_id, board.params_id)
    messages = []
    for part in split(content, capacity):
        seed = os.urandom(SEED_BYTES)
        payload = sealing.seal(key.x25519, aad, seed + part)
        clue, _ = sender.clue(seed, payload)
        messages.append((clue, payload))
    return messages
