# docker build --build-arg RELEASE=v1.2.3 -t vllm-medic .
# The commands of the first stage stay in its folder, so that test/image and make release can run them as they stand.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY actions actions
COPY cmd cmd
COPY deploy/prometheus/rules deploy/prometheus/rules
# The runbooks, which the bot serves.
COPY docs/docs.go docs/
COPY docs/playbooks docs/playbooks
COPY internal internal
COPY notify notify
COPY playbooks playbooks
# What the sandbox simulates.
COPY test/fakeslack test/fakeslack
COPY test/fleet test/fleet
COPY test/truth test/truth
COPY webhook webhook
COPY THIRD_PARTY_LICENSES ./
ARG RELEASE=dev
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.release=${RELEASE}" -o out/vllm-medic ./cmd/vllm-medic
RUN mkdir out/data

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /src/out/vllm-medic /vllm-medic
COPY --from=build /src/THIRD_PARTY_LICENSES /licenses/THIRD_PARTY_LICENSES
# A new volume takes its owner from this folder. Nothing else is written to: the root file system may be read-only.
COPY --from=build --chown=65532:65532 /src/out/data /var/lib/vllm-medic
ENV TMPDIR=/var/lib/vllm-medic
VOLUME /var/lib/vllm-medic
USER 65532:65532
EXPOSE 8080 8081 8082
ENTRYPOINT ["/vllm-medic"]
CMD ["serve", "--config", "/etc/vllm-medic/medic.yaml"]
