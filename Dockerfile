# The image of `cargo image`, built by a container engine: the same program, byte for byte, because the same tool builds it with the same
# toolchain (docs/adr/0008-image.md). It cross-compiles, so nothing is emulated.
# The version is that of rust-toolchain.toml; a test compares them. Renovate adds the digest, which is a registry's to know.
FROM --platform=$BUILDPLATFORM docker.io/library/rust:1.95.0-bookworm AS build
# pip installs Zig, which compiles C for the other platform.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends python3-pip \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
# Named outright, or rustup would fetch the components that rust-toolchain.toml lists for development.
ENV RUSTUP_TOOLCHAIN=1.95.0
ARG TARGETARCH
# A folder of its own for each platform, so that two builds at the same time do not wait for each other.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,id=target-$TARGETARCH,target=/src/target \
    cargo run --locked --package wn-release -- binary --platform linux/$TARGETARCH --output /windows-node-operator

FROM scratch
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="windows-node-operator" \
      org.opencontainers.image.description="Makes the Windows nodes of a Calico cluster work, and says which do not and why" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version=$VERSION \
      org.opencontainers.image.revision=$REVISION
COPY LICENSE /LICENSE
COPY --from=build /windows-node-operator /windows-node-operator
# A number, not a name: the kubelet checks runAsNonRoot without an /etc/passwd.
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["/windows-node-operator"]
CMD ["run"]
