import io.github.omr_project.v1.AddressServiceGrpc;
import com.google.protobuf.ByteString;
import io.github.omr_project.v1.BoardServiceGrpc;
import io.github.omr_project.v1.CapabilityServiceGrpc;
import io.github.omr_project.v1.FindAddressRequest;
import io.github.omr_project.v1.GetBoardRequest;
import io.github.omr_project.v1.GetCapabilitiesRequest;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Makes calls of a running server by the generated classes. The variable OMR_COMMAND names {@code omr}. */
public final class Calls {
  private static final String PARAMS = "insecure-tiny-hybrid-v4";
  private static final String LISTENING = "listening on http://";

  public static void main(String[] args) throws Exception {
    Path data = Files.createTempDirectory(Path.of(args[0]), "data");
    Process server =
        new ProcessBuilder(
                System.getenv("OMR_COMMAND"), "serve", "--anonymous", "--listen", "127.0.0.1:0",
                "--data", data.toString(), "--params", PARAMS)
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    try {
      ManagedChannel channel =
          Grpc.newChannelBuilder(address(server), InsecureChannelCredentials.create()).build();
      call(channel);
      channel.shutdownNow();
    } finally {
      server.destroy();
      server.waitFor();
    }
  }

  private static String address(Process server) throws IOException {
    BufferedReader lines = server.inputReader();
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      if (line.startsWith(LISTENING)) return line.substring(LISTENING.length());
    }
    throw new IOException("expected the line `" + LISTENING + "..`, found the server's end");
  }

  private static void call(ManagedChannel channel) {
    var capabilities =
        CapabilityServiceGrpc.newBlockingStub(channel)
            .getCapabilities(GetCapabilitiesRequest.getDefaultInstance());
    check(capabilities.getBoard().getParamsId(), PARAMS);
    var request = GetBoardRequest.newBuilder().addLengths(0).build();
    var answer = BoardServiceGrpc.newBlockingStub(channel).getBoard(request);
    check(answer.getBoard().getBoardId(), capabilities.getBoard().getBoardId());
    check(answer.getBoard().getMessages(), 0L);
    check(answer.getLogHashesCount(), 1);
    var unknown = FindAddressRequest.newBuilder().setFingerprint(ByteString.copyFrom(new byte[16]));
    try {
      AddressServiceGrpc.newBlockingStub(channel).findAddress(unknown.build());
      throw new AssertionError("expected no address, found one");
    } catch (StatusRuntimeException error) {
      check(error.getStatus().getCode(), Status.Code.NOT_FOUND);
    }
  }

  private static void check(Object found, Object expected) {
    if (!found.equals(expected)) throw new AssertionError("expected " + expected + ", found " + found);
  }
}
