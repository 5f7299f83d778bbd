# Alpine's Rust builds for musl and links statically, so the binary needs nothing of the last stage.
# The version is that of rust-toolchain.toml; a test compares them.
FROM docker.io/library/rust:1.95.0-alpine AS build
# The TLS library compiles C.
RUN apk add --no-cache gcc musl-dev
WORKDIR /src
COPY . .
# Named outright, or rustup would fetch the components that rust-toolchain.toml lists for development.
ENV RUSTUP_TOOLCHAIN=1.95.0
# A cache mount is not part of the layer, so the binary is copied out of it.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    cargo build --locked --release --package windows-node-operator \
    && cp target/release/windows-node-operator /windows-node-operator

FROM scratch
LABEL org.opencontainers.image.title="windows-node-operator" \
      org.opencontainers.image.description="Makes the Windows nodes of a Calico cluster work, and says which do not and why" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /windows-node-operator /windows-node-operator
COPY LICENSE /LICENSE
# A number, not a name: the kubelet checks runAsNonRoot without an /etc/passwd.
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["/windows-node-operator"]
CMD ["run"]
